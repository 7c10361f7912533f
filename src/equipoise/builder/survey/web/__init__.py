"""HTTP requests of raters and the administrator in, pages out: routes, templates, limits."""
