"""Values that packages share: case, reply, record, verdict, run, numbers, gate, settings, errors.

Standard library only; they do not validate, read or send anything: data from outside is validated
where it is read.
"""
