"""SHOW to monitoring: samples as the text that Prometheus reads, and ways to hand it over. One way a file."""
