import type { FieldTable } from "../../../../staging/apimachinery/protobuf/fields.js";
import type { Message } from "../../../../staging/apimachinery/protobuf/message.js";
import {
  CompactionRequest,
  CompactionResponse,
  LeaseGrantRequest,
  LeaseGrantResponse,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
  WatchRequest,
  WatchResponse,
} from "./messages.js";

/** A call of etcd. Streams have messages in both directions. */
export interface EtcdRpc<Req extends FieldTable, Res extends FieldTable> {
  /** as HTTP/2 has it: `/etcdserverpb.KV/Range` */
  readonly path: string;
  readonly request: Message<Req>;
  readonly response: Message<Res>;
  /** Whether it changes nothing, so that it can be sent again when it is not known whether it arrived. */
  readonly isRead: boolean;
}

function rpc<Req extends FieldTable, Res extends FieldTable>(
  path: string,
  request: Message<Req>,
  response: Message<Res>,
  isRead = false,
): EtcdRpc<Req, Res> {
  return { path: `/etcdserverpb.${path}`, request, response, isRead };
}

export const RANGE = rpc("KV/Range", RangeRequest, RangeResponse, true);
export const TXN = rpc("KV/Txn", TxnRequest, TxnResponse);
/** A transaction that only reads. */
export const READ_TXN: typeof TXN = { ...TXN, isRead: true };
export const COMPACT = rpc("KV/Compact", CompactionRequest, CompactionResponse);
export const LEASE_GRANT = rpc("Lease/LeaseGrant", LeaseGrantRequest, LeaseGrantResponse);
export const WATCH = rpc("Watch/Watch", WatchRequest, WatchResponse, true);
