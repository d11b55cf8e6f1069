"""The interactive figures of the page, one function per figure, by subject.

A function returns nothing where its results are missing.
"""
