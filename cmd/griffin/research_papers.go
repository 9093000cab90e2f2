//go:build !nolab

package main

import (
	_ "github.com/griffin-search/griffin/engines" // the engines of the papers, for measurements
)
