import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { UserInfo } from "../authentication/user.js";

/** Mirrors admission.Attributes in k8s.io/apiserver/pkg/admission. */
export interface AdmissionAttributes {
  readonly user: UserInfo;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** the object to be stored; undefined for DELETE. Mutating plugins return another one. */
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly dryRun: boolean;
  /** texts for `Warning: 299` headers of the answer; plugins add theirs */
  readonly warnings: string[];
  /** the admitted request, for the trace; undefined for the server's own clients */
  readonly auditId?: string;
  /** the DELETE's options, or the body of a subresource such as eviction or token */
  readonly options?: KubeObject;
}

/** The properties of a write that are known before its object is decoded. */
export type AdmissionSubject = Pick<AdmissionAttributes, "operation" | "group" | "resource" | "subresource">;

/** Rejects by throwing a StatusError (usually 403). */
export interface AdmissionPlugin {
  /** upstream's name: `NodeRestriction`, `ServiceAccount`, `CertificateSubjectRestriction`, … */
  readonly name: string;
  /** Reports whether the plugin handles such writes; called once for each kind of write; absent: all. Mirrors Handles. */
  handles?(write: AdmissionSubject): boolean;
  /** @returns the object to continue with; synchronously if the plugin does not wait */
  admit?(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>;
  validate?(attributes: AdmissionAttributes): Promise<void>;
}
