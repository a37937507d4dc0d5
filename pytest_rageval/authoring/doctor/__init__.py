"""Is everything in place? Checks of a project, its target and its judge, each with its remedy."""
