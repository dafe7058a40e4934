/**
 * What a request asks for, as a URL of which only path and query count: `//x` is a path here, and not another host.
 * @param target as the request line has it: `/state?x=1`, also the absolute form that proxies are sent
 * @returns undefined: it is neither (`*`)
 */
export function requestUrl(target = "/"): URL | undefined {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "");
  return path === "" || /^[/?]/.test(path) ? new URL(`http://server${path}`) : undefined;
}
