//go:build !amd64 || noasm

package eliasfano

func docIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	return docIDsGo(dst, src, base, width)
}

func freqs(dst *[Len]uint32, src []byte, width uint8) int {
	return freqsGo(dst, src, width)
}

func riceDocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	return riceDocIDsGo(dst, src, base, width)
}

func riceFreqs(dst *[Len]uint32, src []byte, width uint8) int {
	return riceFreqsGo(dst, src, width)
}
