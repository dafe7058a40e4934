/**
 * The messages of etcd's API that the storage uses. Mirrors etcd's api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto.
 *
 * Keys are bytes. 64 bit integers decode to bigints; the storage turns revisions into numbers.
 */
import {
  bool,
  bytes,
  type Decoded,
  enumeration,
  type Init,
  int64,
  many,
  one,
  string,
  uint64,
} from "../../../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../../../staging/apimachinery/protobuf/message.js";

const ResponseHeader = message("ResponseHeader", { clusterId: uint64(1), memberId: uint64(2), revision: int64(3) });

export const KeyValue = message("KeyValue", {
  key: bytes(1),
  createRevision: int64(2),
  modRevision: int64(3),
  version: int64(4),
  value: bytes(5),
  /** 0: none */
  lease: int64(6),
});
export type KeyValue = Decoded<typeof KeyValue>;

export const RangeRequest = message("RangeRequest", {
  key: bytes(1),
  rangeEnd: bytes(2),
  limit: int64(3),
  revision: int64(4),
  keysOnly: bool(8),
  countOnly: bool(9),
  /** leaves out the keys whose last change is older; `count` has all */
  minModRevision: int64(10),
});

export const RangeResponse = message("RangeResponse", {
  header: one(1, ResponseHeader),
  kvs: many(2, KeyValue),
  more: bool(3),
  /** keys in the range, regardless of the limit */
  count: int64(4),
});
export type RangeResponse = Decoded<typeof RangeResponse>;

const PutRequest = message("PutRequest", { key: bytes(1), value: bytes(2), lease: int64(3), prevKv: bool(4) });
const PutResponse = message("PutResponse", { header: one(1, ResponseHeader), prevKv: one(2, KeyValue) });

const DeleteRangeRequest = message("DeleteRangeRequest", { key: bytes(1), rangeEnd: bytes(2), prevKv: bool(3) });
const DeleteRangeResponse = message("DeleteRangeResponse", {
  header: one(1, ResponseHeader),
  deleted: int64(2),
  prevKvs: many(3, KeyValue),
});

export const RequestOp = message("RequestOp", {
  requestRange: one(1, RangeRequest),
  requestPut: one(2, PutRequest),
  requestDeleteRange: one(3, DeleteRangeRequest),
});

export type RequestOp = Init<typeof RequestOp>;

const ResponseOp = message("ResponseOp", {
  responseRange: one(1, RangeResponse),
  responsePut: one(2, PutResponse),
  responseDeleteRange: one(3, DeleteRangeResponse),
});

/** Compare.CompareTarget */
export const CompareTarget = { VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3, LEASE: 4 } as const;
/** Compare.CompareResult */
const CompareResult = { EQUAL: 0, GREATER: 1, LESS: 2, NOT_EQUAL: 3 } as const;

/** The encoder omits zeros, and etcd reads an absent number as zero: so a comparison with 0 has no number. */
const Compare = message("Compare", {
  result: enumeration(1, { CompareResult }, "Compare"),
  target: enumeration(2, { CompareTarget }, "Compare"),
  key: bytes(3),
  version: int64(4),
  modRevision: int64(6),
});

export const TxnRequest = message("TxnRequest", {
  compare: many(1, Compare),
  success: many(2, RequestOp),
  failure: many(3, RequestOp),
});

export const TxnResponse = message("TxnResponse", {
  header: one(1, ResponseHeader),
  succeeded: bool(2),
  responses: many(3, ResponseOp),
});
export type TxnResponse = Decoded<typeof TxnResponse>;

export const CompactionRequest = message("CompactionRequest", { revision: int64(1) });
export const CompactionResponse = message("CompactionResponse", { header: one(1, ResponseHeader) });

/** @property ttl seconds */
export const LeaseGrantRequest = message("LeaseGrantRequest", { ttl: int64(1, "TTL"), id: int64(2, "ID") });
export const LeaseGrantResponse = message("LeaseGrantResponse", {
  header: one(1, ResponseHeader),
  id: int64(2, "ID"),
  ttl: int64(3, "TTL"),
  error: string(4),
});

const WatchCreateRequest = message("WatchCreateRequest", {
  key: bytes(1),
  rangeEnd: bytes(2),
  startRevision: int64(3),
  /** sends the store's revision from time to time while nothing changes */
  progressNotify: bool(4),
  prevKv: bool(6),
});

export const WatchRequest = message("WatchRequest", { createRequest: one(1, WatchCreateRequest) });

/** Event.EventType */
export const EventType = { PUT: 0, DELETE: 1 } as const;

export const Event = message("Event", {
  type: enumeration(1, { EventType }, "Event"),
  kv: one(2, KeyValue),
  prevKv: one(3, KeyValue),
});
export type Event = Decoded<typeof Event>;

export const WatchResponse = message("WatchResponse", {
  header: one(1, ResponseHeader),
  watchId: int64(2),
  created: bool(3),
  canceled: bool(4),
  /** the oldest revision from which a watch can start, if the requested one was compacted */
  compactRevision: int64(5),
  cancelReason: string(6),
  events: many(11, Event),
});
export type WatchResponse = Decoded<typeof WatchResponse>;
