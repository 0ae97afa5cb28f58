package kernel

// Product multiplies two tensors. Out: the product, which may be either input. In: the factors.
func Product[T Float](x Elements[T]) { multiply(x.path, x.Out[0], x.In[0], x.In[1]) }
