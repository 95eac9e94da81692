"""Pictures for print and screen, drawn with Matplotlib; `sojourn.report` lists them."""
