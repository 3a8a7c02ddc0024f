"""Findings about runs that come from elsewhere: collected from streams, imported from other tools."""

from nccltool.core.findings import define

STREAM_MISSING = define("stream-missing", "incomplete", page="findings-results.md", suspects=())
STREAM_CUT = define("stream-cut", "incomplete", page="findings-results.md", suspects=())
IMPORT_INCONSISTENT = define("import-inconsistent", "note", "warning", page="findings-results.md")
IMPORT_ROWS_MISSING = define("import-rows-missing", "unknown", "warning", page="findings-results.md", suspects=())
IMPORT_TEST_FAILED = define("import-test-failed", "incomplete", page="findings-results.md", suspects=())
IMPORT_UNDER_MINIMUM = define("import-under-minimum", "note", "warning", page="findings-results.md")
IMPORT_NCCL_ERROR = define("import-nccl-error", "note", "warning", page="findings-results.md")
IMPORT_ANOTHER_TEST = define("import-another-test", "note", "info", page="findings-results.md")
IMPORTED = define("imported", "note", "info", page="findings-results.md")
