package main

import "encoding/binary"

// compressTable has, for each set of four 32-bit lanes, the bytes that TBL moves to the front.
func compressTable() (t []byte) {
	for set := range 16 {
		n := 0
		for lane := range 4 {
			if set>>lane&1 == 0 {
				continue
			}
			for b := range 4 {
				t = append(t, byte(4*lane+b))
			}
			n++
		}
		for range 4 * (4 - n) {
			t = append(t, 0xff)
		}
	}
	return t
}

func words32(values ...uint32) (t []byte) {
	for _, v := range values {
		t = binary.LittleEndian.AppendUint32(t, v)
	}
	return t
}
