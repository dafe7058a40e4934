export function renewInterval(leaseDurationSeconds) {
  return leaseDurationSeconds * 1000 * 0.25;
}

export function nextBackoff(lastMs) {
  return lastMs === undefined ? 200 : Math.min(lastMs * 2, 7000);
}

export function jitter(ms, factor, random) {
  return ms + random() * factor * ms;
}
