package cost

import "math"

// regress returns the least-squares linear model of the used features over
// cases, at least one. Features that are constant, or depend linearly on
// others, get no slope.
func regress(cases []treeCase, used [MaxTreeFeatures]bool) linear {
	const most = MaxTreeFeatures
	var features [most]int
	n := 0
	for i, u := range used {
		if u {
			features[n] = i
			n++
		}
	}
	// Centred, which eliminates the intercept.
	var mean [most]float64
	meanY := 0.0
	for i := range cases {
		for j, f := range features[:n] {
			mean[j] += cases[i].x[f]
		}
		meanY += cases[i].y
	}
	for j := range n {
		mean[j] /= float64(len(cases))
	}
	meanY /= float64(len(cases))
	var a [most][most]float64
	var b [most]float64
	for i := range cases {
		var d [most]float64
		for j, f := range features[:n] {
			d[j] = cases[i].x[f] - mean[j]
		}
		for j := range n {
			b[j] += d[j] * (cases[i].y - meanY)
			for l := range j + 1 {
				a[j][l] += d[j] * d[l]
			}
		}
	}
	for j := range n {
		// The mean of equal numbers may differ from them by rounding.
		if rounding := nothing * mean[j]; a[j][j] <= float64(len(cases))*rounding*rounding {
			a[j][j] = 0
		}
	}
	slopes := solve(&a, b, n)
	model := linear{Intercept: meanY}
	for j, f := range features[:n] {
		model.Slopes[f] = slopes[j]
		model.Intercept -= slopes[j] * mean[j]
	}
	return model
}

// nothing is the relative difference up to which a number counts as the mean.
const nothing = 1e-12

// solve solves a*x = b for the first n rows of a, a symmetric, positive
// semidefinite matrix given by its lower triangle, by Cholesky decomposition.
// If a row depends on earlier ones, except for rounding, its x is 0.
func solve(a *[MaxTreeFeatures][MaxTreeFeatures]float64, b [MaxTreeFeatures]float64, n int) (x [MaxTreeFeatures]float64) {
	const tolerance = 1e-9
	var low [MaxTreeFeatures][MaxTreeFeatures]float64
	var depends [MaxTreeFeatures]bool
	for j := range n {
		rest := a[j][j]
		for l := range j {
			sum := a[j][l]
			for m := range l {
				sum -= low[j][m] * low[l][m]
			}
			if !depends[l] {
				low[j][l] = sum / low[l][l]
			}
			rest -= low[j][l] * low[j][l]
		}
		if depends[j] = rest <= tolerance*a[j][j]; !depends[j] {
			low[j][j] = math.Sqrt(rest)
		}
	}
	var y [MaxTreeFeatures]float64
	for j := range n {
		if depends[j] {
			continue
		}
		sum := b[j]
		for l := range j {
			sum -= low[j][l] * y[l]
		}
		y[j] = sum / low[j][j]
	}
	for j := n - 1; j >= 0; j-- {
		if depends[j] {
			continue
		}
		sum := y[j]
		for l := j + 1; l < n; l++ {
			sum -= low[l][j] * x[l]
		}
		x[j] = sum / low[j][j]
	}
	return x
}
