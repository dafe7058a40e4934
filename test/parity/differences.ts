/** Where the embedded control plane still answers otherwise than the recorded one, and why. Kept short. */
export interface KnownDifference {
  readonly topic: string;
  /** the item's name in the recording */
  readonly item: string;
  readonly reason: string;
  /** a race: in some runs it does not differ */
  readonly sometimes?: boolean;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [];
