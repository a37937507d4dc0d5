"""Values that flow through the package: case, reply, record, verdict, numbers, gate, settings.

Plain frozen dataclasses on the standard library alone, so that importing them costs nothing.
Data from outside is validated where it is read and arrives here clean: no NaN, no unknown field, no
wrong type. Nothing here reads, sends, computes or prints.
"""
