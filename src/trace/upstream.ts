/** Upstream's files as of the release that every path in a trace refers to. */
const SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.25.0/";
/** A path of a repository, and nothing that leads out of it. */
const SOURCE_FILE = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;

/** The address of an upstream file; undefined for a text that is no path. */
export function upstreamUrl(file: string): string | undefined {
  return SOURCE_FILE.test(file) ? SOURCE + file : undefined;
}
