const FRACTION = 0.25;
const JITTER = 0.04;

export async function keepLease(node, clock, { leaseDurationSeconds }, random) {
  const intervalMs = leaseDurationSeconds * 1000 * FRACTION;
  for (;;) {
    await node.renew();
    const part = random === undefined ? 0 : random() * JITTER;
    await clock.sleep(intervalMs * (1 + part));
  }
}
