"""Variables that the files of a job set: batch scripts, manifests of Kubernetes and compose files, Dockerfiles."""
