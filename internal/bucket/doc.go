// Package bucket gives package backup the buckets of object stores, through gocloud.dev. A provider is
// a file with its import: s3.go for servers with the protocol of S3.
//
// It is not for programs that need no buckets: the SDK of S3 alone adds 6 MB to a stripped binary, and
// 16 MB without the build tag grpcnotrace. The build tag nobuckets leaves it out of griffin. The ones of Google and Azure are larger, and no build has them.
//
// A Bucket is safe for concurrent use until Close.
package bucket
