"""Pages: one folder of templates, one design, charts drawn as SVG; none asks the network."""
