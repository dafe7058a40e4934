/**
 * The YAML library, for callers that load it only when they meet YAML: `await import("./yaml.js")`.
 *
 * This file exists because a bundled `import("yaml")` of a CommonJS package has no named exports.
 */
export { isMap, isScalar, LineCounter, parse, parseDocument, stringify } from "yaml";
