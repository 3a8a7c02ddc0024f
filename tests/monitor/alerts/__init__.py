"""Alerts: what an alert must have, and the pages and rules that are made of them."""
