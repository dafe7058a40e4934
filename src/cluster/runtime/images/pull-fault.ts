/** Failures of a registry: image not found, login denied, registry unreachable, too many pulls. */
export const PULL_FAULTS = ["not-found", "denied", "unreachable", "rate-limited"] as const;

/** Makes pulls of some images fail. */
export interface PullFault {
  /** part of the image's full name; "" for all images */
  readonly image: string;
  readonly how: (typeof PULL_FAULTS)[number];
}
