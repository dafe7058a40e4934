// The Container Runtime Interface as kubelab's tables have it, as a .proto file:
//   npm run -s proto > cri.proto && grpcurl -plaintext -proto cri.proto -unix /run/x.sock runtime.v1.RuntimeService/Version
import { criProtoText } from "../src/cri/proto-text.js";

process.stdout.write(criProtoText());
