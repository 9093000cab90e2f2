//go:build !nozones

package main

import _ "time/tzdata" // date_histogram and ranges of dates have time zones, also where the machine has no database of them
