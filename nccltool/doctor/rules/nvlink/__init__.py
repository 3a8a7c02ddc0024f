"""NVLink: NVLS, multi-node NVLink, the fabric manager; CollNet."""
