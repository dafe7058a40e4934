/** How a node's pods and those of other nodes lose each other: packets vanish, or are answered with an ICMP error. */
export const NETWORK_CUTS = ["drop", "refuse"] as const;

/** What is wrong between a node's pods and the other nodes. */
export interface NetworkCut {
  readonly how?: (typeof NETWORK_CUTS)[number];
  /** how long each new connection and each datagram is late, in ms */
  readonly delayMs?: number;
}
