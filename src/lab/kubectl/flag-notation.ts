/**
 * The flags of a verb, separated by spaces: `all` is a switch, `output|o=` takes a value, `cascade=background` has this
 * value if the line gives none.
 */
export type FlagNotation = string;

/** One flag of a notation. */
export interface Flag {
  readonly name: string;
  /** one letter; undefined: only a long form */
  readonly short: string | undefined;
  readonly takesValue: boolean;
  /** without a value */
  readonly implied: string | undefined;
}

/** The flags of every verb. Mirrors k8s.io/cli-runtime/pkg/genericclioptions/config_flags.go. */
export const GLOBAL_FLAGS: FlagNotation = "namespace|n= kubeconfig= context= token= v|v=";

/** The flags of a notation, in its order. */
export function flagsOf(notation: FlagNotation): readonly Flag[] {
  return notation.split(" ").flatMap((text) => {
    const [names = "", implied] = text.split("=");
    const [name = "", short] = names.split("|");
    if (name === "") return [];
    return { name, short, takesValue: implied === "", implied: implied === "" ? undefined : (implied ?? "true") };
  });
}
