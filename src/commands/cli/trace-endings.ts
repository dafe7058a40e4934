/** The formats of trace files, by the ending of the name. A longer ending comes before the shorter one that it ends with. */
export const TRACE_FORMATS = [".html", ".svg", ".ndjson", ".mmd", ".otlp.json", ".json"] as const;

/** for help texts and errors */
export const TRACE_ENDINGS = TRACE_FORMATS.join(", ");
