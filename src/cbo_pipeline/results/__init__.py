"""Files of results: the NetCDF contract, summaries, versions, the digest of the code that decided them.

Nobody else touches NetCDF.
"""
