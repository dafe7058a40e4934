/** Upstream's files as of the release that every path in a trace refers to. */
const SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.25.0/";
/** A path inside a repository; `..` cannot lead out of it. */
const SOURCE_FILE = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;

/** The URL of an upstream file; undefined if the text is not a path. */
export function upstreamUrl(file: string): string | undefined {
  return SOURCE_FILE.test(file) ? SOURCE + file : undefined;
}
