/**
 * The target of a request as a URL of which only path and query count: `//x` is a path here, not a host.
 * @param target from the request line: `/state?x=1`, or the absolute form that proxies receive
 * @returns undefined for anything else (`*`)
 */
export function requestUrl(target = "/"): URL | undefined {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "");
  return path === "" || /^[/?]/.test(path) ? new URL(`http://server${path}`) : undefined;
}
