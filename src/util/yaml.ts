/**
 * The YAML library, for callers that load it only when they meet YAML: `await import("./yaml.js")`.
 *
 * Through this file, because `import("yaml")` of a CommonJS package has no named exports once it is bundled.
 */
export { isMap, isScalar, LineCounter, parse, parseDocument, stringify } from "yaml";
