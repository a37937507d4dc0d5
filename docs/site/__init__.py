"""The documentation as a site: pages copied, reference pages written from the code.

The pages of ``docs/`` are read on their own, too; nothing here is imported by the package.
"""
