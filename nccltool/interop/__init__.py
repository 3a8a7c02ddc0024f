"""Files in, files out: results of other tools, manifests, batch scripts, bundles."""
