"""Arrays in, arrays out: networks, consensus points, schedules, random streams, optimal transport.

Nothing here knows of problems, methods, files or settings.
"""
