package cost

// priors are the built-in coefficients in nanoseconds, in the order of basis,
// of a server of 2024 (16 cores at 3 GHz; a GPU on PCIe 5 x16, 55 GB/s from
// page-locked memory; launch and wait 9 µs). They apply to kinds that were not
// calibrated.
var priors = [NumKinds][maxBasis]float64{
	CPUTerm:      {1800, 0.09, 45, 850},
	CPUOr:        {600, 400, 0.3, 2, 0.02, 0.05, 5},
	CPUAnd:       {500, 150, 0.3, 2, 0.03, 10},
	CPUTree:      {2000, 1000, 5, 5, 2, 0, 10},
	CPUImpacts:   {20000, 500, 0, 0, 0.5, 0, 5},
	CPUBegin:     {400, 1.5},
	CPUIntersect: {400, 2, 0.6, 60},
	CPUSelect:    {200, 1, 5},
	GPUImagesOr:  {11000, 1000, 0.01, 5, 200},
	GPUImagesAnd: {10500, 800, 0.01, 0.004, 200},
	GPUImpacts:   {13000, 1000, 0.01, 5, 200},
	GPUPackedOr:  {16000, 2000, 0.01, 0.2, 0.019, 5},
	GPUPackedAnd: {15000, 2000, 0.002, 0.2, 0.019, 5},
	GPUIntersect: {16000, 2500, 0.3, 0.2, 0.019},
	BringImages:  {40000, 8000, 0.019, 0.15, 0.05},
	BringHost:    {2000, 1000, 0, 0.12, 0},
	BringDevice:  {12000, 2000, 0.019, 0.14, 0},
}
