"""Prometheus has no nccltool metrics.

## Meaning
No target exports nccltool_last_run_timestamp_seconds: the exporter is down or was never installed, or its file is
missing.

## Impact
The other alerts cannot fire, so their silence does not mean that the cluster is healthy.

## Verify
    curl -s http://HOST:9779/healthz           # expected: ok
    curl -s http://HOST:9779/metrics | head    # expected: nccltool_build_info
    ls -l /var/lib/node_exporter/*.prom        # expected: written last night, by the nightly run

## Causes
* nccltool serve is not running or listens only on loopback.
* The target is missing from the scrape configuration.
* A firewall blocks the scrape.
* node_exporter runs without --collector.textfile.directory.
* No run has completed yet.

## Fix
Run systemctl start nccltool-serve. Otherwise the targets page of Prometheus shows why the scrape failed. Blast
radius: none.

## Escalate
Contact the owner of Prometheus.
"""

EXPR = "absent(nccltool_last_run_timestamp_seconds)"
HOLD = "15m"
SEVERITY = "warning"
SUMMARY = "No nccltool metrics"
DESCRIPTION = "No target exports nccltool metrics: the other alerts cannot fire."
SOURCE = "15 minutes: longer than it takes to restart Prometheus or the exporter"
