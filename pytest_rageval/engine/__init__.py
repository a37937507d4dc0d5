"""Control of one case and of one run: ask, score, store, aggregate, decide, write.

It holds no calculation and no file format, and uses neither pytest nor the terminal.
"""
