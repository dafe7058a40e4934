/**
 * What changed between Kubernetes releases, for everything that this project quotes or does. The baseline is v1.25; a
 * newer `--kube-version` picks later values. One table, so that a trace can say since when a number holds.
 */
export interface ReleaseFact<T> {
  /** upstream's name of the constant or behaviour */
  readonly name: string;
  /** file of the Kubernetes repository that holds it */
  readonly file: string;
  /** oldest first; the first entry holds from v1.25 (or before) on */
  readonly values: readonly { readonly since: string; readonly value: T; readonly text: string }[];
}

/** The releases that `--kube-version` takes. */
export const OLDEST_RELEASE = "1.25";
export const NEWEST_RELEASE = "1.34";
