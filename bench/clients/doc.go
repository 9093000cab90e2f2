// Package clients tests the HTTP API with clients that others maintain: opensearch-go, with its bulk
// indexer, against a running griffin serve. It is a module of its own, so that the program does not depend
// on them.
package clients
