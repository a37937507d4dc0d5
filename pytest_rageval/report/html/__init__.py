"""Pages: one set of macros, one style sheet, charts from series; none asks the network."""
