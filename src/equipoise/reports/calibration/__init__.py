"""A Run in; what it says of calibration by group out: tables, charts and figures."""
