"""Smoke trainings on a rank."""
