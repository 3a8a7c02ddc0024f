"""Findings about runs that come from elsewhere: collected from streams, imported from other tools."""

from nccltool.core.findings import define

STREAM_MISSING = define("stream-missing", "incomplete")
STREAM_CUT = define("stream-cut", "incomplete")
IMPORT_INCONSISTENT = define("import-inconsistent", "note", "warning")
IMPORT_UNDER_MINIMUM = define("import-under-minimum", "note", "warning")
IMPORT_NCCL_ERROR = define("import-nccl-error", "note", "warning")
IMPORTED = define("imported", "note", "info")
