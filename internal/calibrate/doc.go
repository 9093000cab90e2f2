// Package calibrate measures query times on the processors of this machine and
// fits the predictions of a dispatcher to them: Run for the model of policy
// cost, Train for the trees of policy query.
package calibrate
