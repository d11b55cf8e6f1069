"""Everything that people read in HTML, Markdown or the terminal.

Pages read results and verdicts; they decide nothing.
"""
