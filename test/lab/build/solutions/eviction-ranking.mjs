export function rankMemoryPressure(pods) {
  const trueFirst = (a, b) => Number(b) - Number(a);
  const exceeds = ({ usage, request }) => usage > request;
  const order = (a, b) =>
    trueFirst(a.usage === undefined, b.usage === undefined) ||
    trueFirst(exceeds(a), exceeds(b)) ||
    a.priority - b.priority ||
    b.usage - b.request - (a.usage - a.request);
  return [...pods].sort(order).map(({ name }) => name);
}
