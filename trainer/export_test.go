package trainer

// OpenOn is Open on a disk that can fail.
var OpenOn = open
