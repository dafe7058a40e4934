/** What a container's spec says of its environment. Mirrors k8s.io/api/core/v1/types.go. */

export interface KeySelector {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface FieldRef {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

export interface ResourceFieldRef {
  /** default: the container itself; of a volume: always set */
  readonly containerName?: string;
  /** `limits.cpu` */
  readonly resource: string;
  readonly divisor?: unknown;
}

export interface EnvVarSpec {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldRef | null;
    readonly resourceFieldRef?: ResourceFieldRef | null;
    readonly configMapKeyRef?: KeySelector | null;
    readonly secretKeyRef?: KeySelector | null;
  } | null;
}

interface ObjectRef {
  readonly name: string;
  readonly optional?: boolean;
}

export interface EnvFromSpec {
  readonly prefix?: string;
  readonly configMapRef?: ObjectRef | null;
  readonly secretRef?: ObjectRef | null;
}

/**
 * A list of objects in a spec, or nothing where there is none. A manifest has passed no API server: an item that is no
 * object is left out.
 */
export function listOf<T extends object>(value: unknown): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is T => typeof item === "object" && item !== null);
}
